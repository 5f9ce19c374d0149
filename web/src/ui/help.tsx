// The keys, and the switch that turns single keys off.

import { singleKeys } from "../core/settings";
import { Modal } from "./modal";
import { helpOpen } from "./overlays";

const KEYS: [string, [string, string][]][] = [
  [
    "Go",
    [
      ["Ctrl K", "find a page, a record, an action"],
      [
        "g then n s d f g m p h c",
        "Now, Stream, Decisions, Features, Guards, Map, Preview, Health, Changes",
      ],
      ["Esc", "back to where one came from"],
    ],
  ],
  [
    "Move",
    [
      ["j k, arrows, Home End", "from row to row"],
      ["Enter", "open"],
      ["/", "search here"],
      ["f", "filters"],
      ["x", "select"],
      ["Space", "pause what is live, and go on"],
    ],
  ],
  [
    "Act on the chosen thing",
    [
      ["s", "settle"],
      ["a", "answer"],
      ["e", "dismiss"],
      ["r", "release"],
      [".", "all its actions"],
    ],
  ],
  [
    "Copy and look",
    [
      ["y", "copy the address"],
      ["Y", "copy the command line that shows the same"],
      ["t", "theme: as the system, light, dark"],
      ["?", "these keys"],
    ],
  ],
];

export function HelpDialog() {
  const close = () => (helpOpen.value = false);
  return (
    <Modal label="Keys" class="help" onClose={close}>
      <h2>Keys</h2>
      {KEYS.map(([title, rows]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {rows.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label class="switch">
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => (singleKeys.value = event.currentTarget.checked)}
        />
        <span>Single letters act. They never do in a field.</span>
      </label>
      <div class="buttons">
        <button type="button" class="primary" data-first onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}
