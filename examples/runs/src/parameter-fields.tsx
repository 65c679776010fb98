interface Parameters {
  /** Values by name. */
  readonly of: Readonly<Record<string, unknown>>;
}

const writtenOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const fieldOf = (name: string) => `parameter.${name}`;

/** A field for each parameter of a run. */
export function ParameterFields({ of }: Parameters) {
  return Object.entries(of).map(([name, value]) => (
    <label key={name}>
      {name}
      <input
        name={fieldOf(name)}
        defaultValue={writtenOf(value)}
        // An empty text stays one.
        required={value !== ""}
      />
    </label>
  ));
}

/** The typed value: a text if the parameter was one, else parsed as JSON if possible, such as a number or a list. */
function valueOf(text: string, before: unknown): unknown {
  if (typeof before === "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The parameters of a form with `ParameterFields`, and whether each was changed. */
export const typedIn = (form: FormData, { of }: Parameters) =>
  Object.entries(of).map(([name, before]) => {
    const text = String(form.get(fieldOf(name)));
    return { name, value: valueOf(text, before), isChanged: text !== writtenOf(before) };
  });
