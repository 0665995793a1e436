/** Cuts a stream of bytes at a delimiter of any length; the last piece counts when it is not empty. */
import { Buffer } from "node:buffer";
import { CliError } from "./io.ts";

/** Yields lists of pieces: all that one chunk of input completed, so that a sender can batch without waiting. */
export async function* pieces(
  input: AsyncIterable<Uint8Array>,
  delimiter: Uint8Array,
  pieceBytesMax: number,
): AsyncGenerator<Buffer[]> {
  const mark = Buffer.from(delimiter);
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    const searchFrom = Math.max(0, rest.length - mark.length + 1);
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const found: Buffer[] = [];
    let start = 0;
    for (let at = rest.indexOf(mark, searchFrom); at >= 0; at = rest.indexOf(mark, start)) {
      found.push(rest.subarray(start, at));
      start = at + mark.length;
    }
    rest = rest.subarray(start);
    if (rest.length > pieceBytesMax)
      throw new CliError(`a message is longer than ${pieceBytesMax} bytes without a delimiter; check -D`);
    if (found.length > 0) yield found;
  }
  if (rest.length > 0) yield [rest];
}
