import fc from "fast-check";
import {
  getNullableType,
  type InlineFragmentNode,
  isListType,
  Kind,
  parse,
  print,
  type SelectionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { schema } from "../../src/graphql/schema.ts";

/** Fields that must not be compared: their values change over time, or only the demo has them. */
export const UNSTEADY = new Set([
  "durationSeconds",
  "ExperimentJob.logs",
  ..."cloningStrategy framework runEnvironment dataReferences readme groupType".split(" "),
]);

/** Parses a directive such as `@stream(initialCount: 1)`. */
function directiveOf(text: string) {
  const [operation] = parse(`{ a ${text} }`).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new TypeError("expected an operation");
  return operation.selectionSet.selections[0]?.directives ?? [];
}

const deferred = (selections: readonly SelectionNode[], text = "@defer"): InlineFragmentNode => ({
  kind: Kind.INLINE_FRAGMENT,
  directives: directiveOf(text),
  selectionSet: { kind: Kind.SELECTION_SET, selections },
});

/** A selection without `@stream`, because a field with it must not be selected twice. */
const whole = (node: SelectionNode): SelectionNode =>
  visit(node, { Directive: ({ name }) => (name.value === "stream" ? null : undefined) });

/** The forms that a selection may take: deferred, plain and deferred, deferred twice, or deferred within another deferred fragment. */
const FORMS: readonly ((node: SelectionNode) => readonly SelectionNode[])[] = [
  (node) => [deferred([node])],
  (node) => [deferred([node])],
  (node) => [whole(node), deferred([whole(node)])],
  (node) => [deferred([whole(node)]), whole(node)],
  (node) => [deferred([whole(node)]), deferred([whole(node)])],
  (node) => [deferred([whole(node), deferred([whole(node)])])],
  (node) => [deferred([deferred([node])])],
  (node) => [deferred([node], "@defer(if: $no)")],
  (node) => [deferred([node], "@defer(if: $yes)")],
];

/** Maximum number of deferred fragments in a document, counted before fragments are expanded. */
const MOST = 6;

/** Generates functions that add random `@defer` and `@stream` to a document with the variables `$yes` and `$no`. */
export const deferral = (): fc.Arbitrary<(document: string) => string> =>
  fc.array(fc.nat(99), { minLength: 40, maxLength: 40 }).map((choices) => (text) => {
    let made = 0;
    let at = 0;
    const choose = (): number => choices[at++ % choices.length] ?? 0;
    const types = new TypeInfo(schema);
    const changed = visit(
      parse(text),
      visitWithTypeInfo(types, {
        Field: (node) => {
          const type = types.getType();
          if (!type || !isListType(getNullableType(type)) || made >= MOST || choose() > 30) return undefined;
          made++;
          const directives = directiveOf(`@stream(initialCount: ${choose() % 3})`);
          return { ...node, directives: [...(node.directives ?? []), ...directives] };
        },
        SelectionSet: {
          leave: (node) => ({
            ...node,
            selections: node.selections.flatMap((selection) => {
              const choice = choose();
              const form = FORMS[choice % 3 === 0 ? Math.floor(choice / 3) % FORMS.length : -1];
              if (!form || made >= MOST) return [selection];
              made++;
              return form(selection);
            }),
          }),
        },
      }),
    );
    return print(changed);
  });
