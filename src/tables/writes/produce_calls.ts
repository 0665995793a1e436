/** Whether a statement calls produce(). */
import { nameOf, type Token } from "../../sql/tokens.ts";

export function produceCall(tokens: readonly Token[]): Token | undefined {
  return tokens.find(
    (token, i) =>
      (token.kind === "name" || token.kind === "keyword") &&
      nameOf(token).toLowerCase() === "produce" &&
      tokens[i + 1]?.text === "(",
  );
}
