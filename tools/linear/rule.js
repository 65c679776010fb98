import { checkSync } from "recheck";

/** The result does not depend on the speed of the machine: the steps of the search are counted. The slowest expression takes 2 to 8 s. */
const PARAMETERS = { timeout: 600_000, attackTimeout: null, incubationTimeout: null };

/** The violation of a regular expression with this source and these flags; null if matching takes linear time. */
function faultOf({ pattern, flags }) {
  const { status, complexity, attack } = checkSync(pattern, flags, PARAMETERS);
  if (status === "safe") return null;
  return attack ? `${complexity.summary} for ${attack.pattern}` : status;
}

/**
 * A rule of oxlint: every regular expression takes linear time on any string, even when its search starts again at each position. A comment
 * beside each exception says why its string is short. `eslint-plugin-regexp` does not replace this rule: it finds the repetition of a
 * character, but not that of a word, as in `/(Expected [^:]*): .*$/`.
 */
const regexp = {
  create: (context) => {
    const report = (node, got) =>
      context.report({ node, message: `Expected an expression that is linear in its text, got ${got}.` });
    return {
      Literal: (node) => {
        const fault = node.regex && faultOf(node.regex);
        if (fault) report(node, fault);
      },
      NewExpression: (node) => {
        if (node.callee.name === "RegExp") report(node, "one that is only known at run time");
      },
    };
  },
};

export default { meta: { name: "linear" }, rules: { regexp } };
