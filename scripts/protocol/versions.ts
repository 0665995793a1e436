/**
 * Conditions over a message's version as TypeScript source. A condition that every possible version decides alike
 * becomes the constant true or false, so that the generated code tests only what can differ.
 */
import type { Versions } from "./definitions.ts";

export type Condition = true | false | string;

/** Whether `version`, known to lie in `possible`, lies in `range`. */
export function within(range: Versions, possible: Versions): Condition {
  const min = Math.max(range.min, possible.min);
  const max = Math.min(range.max, possible.max);
  if (max < min) return false;
  if (min === possible.min && max === possible.max) return true;
  if (min === max) return `version === ${min}`;
  if (min === possible.min) return `version <= ${max}`;
  if (max === possible.max) return `version >= ${min}`;
  return `version >= ${min} && version <= ${max}`;
}

export function intersect(a: Versions, b: Versions): Versions {
  return { min: Math.max(a.min, b.min), max: Math.min(a.max, b.max) };
}

export function isEmpty(range: Versions): boolean {
  return range.max < range.min;
}

/** `yes` or `no` by the condition, as one expression. */
export function choose(condition: Condition, yes: string, no: string): string {
  if (condition === true) return yes;
  if (condition === false) return no;
  return yes === no ? yes : `${condition} ? ${yes} : ${no}`;
}

/** Two decisions at once; a nested choice stands in parentheses. */
export function chooseTwo(
  a: Condition,
  b: Condition,
  both: string,
  onlyA: string,
  onlyB: string,
  neither: string,
): string {
  const wrap = (text: string) => (text.includes(" ? ") ? `(${text})` : text);
  return choose(a, wrap(choose(b, both, onlyA)), wrap(choose(b, onlyB, neither)));
}

/** Statements under a condition, indented by two more spaces unless the condition is constant. */
export function when(condition: Condition, statements: string[], otherwise: string[] = []): string[] {
  if (condition === true) return statements;
  if (condition === false) return otherwise;
  const indent = (lines: string[]) => lines.map((line) => `  ${line}`);
  if (statements.length === 0 && otherwise.length === 0) return [];
  if (statements.length === 0) return [`if (!(${condition})) {`, ...indent(otherwise), "}"];
  const lines = [`if (${condition}) {`, ...indent(statements)];
  if (otherwise.length > 0) lines.push("} else {", ...indent(otherwise));
  return [...lines, "}"];
}
