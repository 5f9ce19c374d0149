import type { A } from './a';
import * as b from "b";
export * from './c';

export const LIMIT = 10, of = <T,>(x: T): T[] => [x];
declare global { interface Window { key: string } }
export default abstract class Key<T> extends Base<T> implements Store {
  @Input({ required: true }) private readonly name?: string;
  #count = 0;
  handler = async (event: Event): Promise<void> => { await this.run(/[/]'"`/gi, `a${`b${1}`}`); };
  constructor(@Inject(TOKEN) private store: Store) { super(); }
  get size(): number { return this.#count / 2 / 1; }
  abstract read(key: string): asserts key is 'x';
  static async *[Symbol.asyncIterator]() { yield* []; }
}
export interface Store { get(key: string): T | undefined; readonly size: number; <U>(x: U): U }
type Deep<T> = { [K in keyof T]?: T[K] extends object ? Deep<T[K]> : never };
enum Kind { A = 1, B = 'b' }
namespace Inner.Deep { export function f(x: number): void; export function f(x: any) { return x! as unknown; } }
