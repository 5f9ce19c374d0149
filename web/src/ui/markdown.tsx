// A part of Markdown as elements: paragraphs, lists, headings, code, emphasis. No HTML, no links
// that can be followed: an address in a record is shown, not offered.

import type { ComponentChildren, VNode } from "preact";

const INLINE =
  /(`+)([^`]|[^`][^]*?[^`])\1(?!`)|\*\*(?=\S)([^]+?)\*\*|(?<![\w*])\*(?=\S)([^*]+?)\*(?!\w)|(?<!\w)_(?=\S)([^_]+?)_(?!\w)/;
const BULLET = /^\s{0,3}[-*+]\s+/;
const NUMBER = /^\s{0,3}\d{1,9}[.)]\s+/;
const HEADING = /^#{1,6}\s+/;
const FENCE = /^\s{0,3}(```|~~~)/;
/** Characters past which a text is shown as it is: emphasis in a log is not worth a slow page. */
const LONGEST = 20_000;

export function Markdown({ text }: { text: string }) {
  if (text.length > LONGEST) return <pre class="prose long">{text}</pre>;
  return <div class="prose">{blocks(text.split("\n"))}</div>;
}

/** One line of it: code and emphasis, no blocks. */
export function Inline({ text }: { text: string }) {
  return <>{inline(text)}</>;
}

function blocks(lines: string[]): VNode[] {
  const found: VNode[] = [];
  let at = 0;
  const takeWhile = (holds: (line: string) => boolean) => {
    const from = at;
    while (at < lines.length && holds(lines[at] ?? "")) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line)?.[1];
    if (line.trim() === "") at++;
    else if (fence) {
      at++;
      const code = takeWhile((one) => !one.trimStart().startsWith(fence));
      at++;
      found.push(
        <pre>
          <code>{code.join("\n")}</code>
        </pre>,
      );
    } else if (HEADING.test(line)) {
      at++;
      found.push(<p class="prose-heading">{inline(line.replace(HEADING, ""))}</p>);
    } else if (BULLET.test(line)) {
      found.push(
        <ul>
          {items(
            takeWhile((one) => BULLET.test(one) || /^\s+\S/.test(one)),
            BULLET,
          )}
        </ul>,
      );
    } else if (NUMBER.test(line)) {
      found.push(
        <ol>
          {items(
            takeWhile((one) => NUMBER.test(one) || /^\s+\S/.test(one)),
            NUMBER,
          )}
        </ol>,
      );
    } else {
      const isText = (one: string) =>
        one.trim() !== "" &&
        !FENCE.test(one) &&
        !HEADING.test(one) &&
        !BULLET.test(one) &&
        !NUMBER.test(one);
      found.push(<p>{inline(takeWhile(isText).join("\n"))}</p>);
    }
  }
  return found;
}

function items(lines: string[], mark: RegExp): VNode[] {
  const texts: string[] = [];
  for (const line of lines) {
    if (mark.test(line)) texts.push(line.replace(mark, ""));
    else texts.push(`${texts.pop() ?? ""}\n${line.trim()}`);
  }
  return texts.map((text) => <li>{inline(text)}</li>);
}

function inline(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    parts.push(rest.slice(0, found.index));
    const [all, , code, strong, star, underscore] = found;
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (strong !== undefined) parts.push(<strong>{strong}</strong>);
    else parts.push(<em>{star ?? underscore}</em>);
    rest = rest.slice(found.index + all.length);
  }
  parts.push(rest);
  return parts;
}
