/**
 * rpk's `-f` for producing: the shape of one input line, for example `%k %v` or `%p|%k|%v`. Between two tokens stands literal
 * text; a token takes everything up to the next literal, the last token takes the rest.
 */
import { Buffer } from "node:buffer";
import { UsageError } from "./io.ts";
import { delimiterBytes, FormatError } from "./record_format.ts";

export interface ParsedInput {
  key?: Buffer;
  value?: Buffer;
  partition?: number;
}

/** A trailing `\n` is the record delimiter and is dropped. Throws FormatError; the parser throws UsageError. */
export function compileInput(format: string): (line: Buffer) => ParsedInput {
  const steps: { token: "k" | "v" | "p"; after: Buffer }[] = [];
  const shape = format.replace(/\\n$/, "");
  const tokens = [...shape.matchAll(/%([a-zA-Z%])/g)];
  const before = Buffer.from(delimiterBytes(shape.slice(0, tokens[0]?.index ?? shape.length)));
  tokens.forEach((match, i) => {
    const token = match[1] as string;
    if (token !== "k" && token !== "v" && token !== "p")
      throw new FormatError(`%${token} cannot be read from input; there are %k, %v and %p`);
    const literal = shape.slice((match.index as number) + 2, tokens[i + 1]?.index ?? shape.length);
    steps.push({ token, after: Buffer.from(delimiterBytes(literal)) });
  });
  if (steps.length === 0) throw new FormatError(`the input format "${format}" has none of %k, %v and %p`);
  return (line) => parseLine(line, before, steps, format);
}

function parseLine(
  line: Buffer,
  before: Buffer,
  steps: { token: "k" | "v" | "p"; after: Buffer }[],
  format: string,
): ParsedInput {
  const found: ParsedInput = {};
  const mismatch = () => new UsageError(`the line "${line.toString().slice(0, 80)}" does not have the form ${format}`);
  if (!line.subarray(0, before.length).equals(before)) throw mismatch();
  let at = before.length;
  for (const { token, after } of steps) {
    const end = after.length === 0 ? line.length : line.indexOf(after, at);
    if (end < 0) throw mismatch();
    const piece = line.subarray(at, end);
    if (token === "k") found.key = piece;
    else if (token === "v") found.value = piece;
    else found.partition = Number(piece.toString());
    at = end + after.length;
  }
  if (found.partition !== undefined && !Number.isInteger(found.partition)) throw mismatch();
  return found;
}
