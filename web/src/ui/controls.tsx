// Controls of filter rows and panels.

/** A row of words of which several or one may hold. */
export function Chips(props: {
  label: string;
  options: readonly (readonly [string, string])[];
  chosen: readonly string[];
  single?: boolean;
  onChange: (chosen: string[]) => void;
}) {
  const toggle = (value: string) => {
    const isOn = props.chosen.includes(value);
    if (props.single) props.onChange(isOn ? [] : [value]);
    else
      props.onChange(isOn ? props.chosen.filter((one) => one !== value) : [...props.chosen, value]);
  };
  return (
    <div class="chips" role="group" aria-label={props.label}>
      {props.options.map(([value, label]) => (
        <button
          key={value}
          type="button"
          class="chip"
          aria-pressed={props.chosen.includes(value)}
          onClick={() => toggle(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** A field of a filter row that takes effect on Enter or when it is left. */
export function FilterField(props: {
  name: string;
  label: string;
  value: string;
  placeholder?: string;
  search?: boolean;
  onChange: (value: string) => void;
}) {
  return (
    <label class={`filter ${props.search ? "search" : ""}`}>
      <span>{props.label}</span>
      <input
        name={props.name}
        {...(props.search ? { type: "search" as const } : { type: "text" as const })}
        value={props.value}
        placeholder={props.placeholder ?? ""}
        autocomplete="off"
        spellcheck={false}
        onChange={(event: Event & { currentTarget: HTMLInputElement }) =>
          props.onChange(event.currentTarget.value.trim())
        }
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            event.currentTarget.blur();
            document.querySelector<HTMLElement>("[role=listbox], main h1")?.focus();
          }
        }}
      />
    </label>
  );
}
/** Tabs of one panel; the choice is part of the address where `onChange` puts it there. */
export function Tabs(props: {
  label: string;
  options: readonly (readonly [string, string])[];
  chosen: string;
  onChange: (value: string) => void;
}) {
  return (
    <div class="tabs" role="group" aria-label={props.label}>
      {props.options.map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={props.chosen === value}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
