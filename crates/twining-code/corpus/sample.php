<html><?= $title ?></html>
<?php
declare(strict_types=1);
namespace App\Store;
use App\Base;
use function App\{first, second as other};
const LIMIT = 10;
# a comment
#[Attribute(Attribute::TARGET_CLASS)]
final class Key extends Base implements \Countable
{
    use Helper;
    public const A = 'a', B = "b {$x['y']}";
    public function __construct(private readonly ?string $name = null, int ...$more) { parent::__construct(); }
    public static function read(string|int $path): static { return match (true) { $path > 1 => new static(), default => throw new \Exception('it\'s') }; }
    abstract protected function run(): void;
}
interface Store { public function get(string $key): mixed; }
trait Helper { }
enum Kind: string { case A = 'a'; public static function of(): self { return self::A; } }
function plain(callable $f) { $t = <<<"TEXT"
  don't // not a comment {$f()}
  TEXT; return fn($x) => $x ** 2; }
