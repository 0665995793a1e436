/** The fields of a JSON object as texts, for the few records that are put together from several rows. */
import { closeBrace, JsonScanner, openBrace } from "../json/scan.ts";
import { decodeUtf8 } from "../json/utf8.ts";

const scanner = new JsonScanner();

/** Each field's value as it is written; of a repeated field the last. Undefined when the bytes are no JSON object. */
export function objectTexts(bytes: Uint8Array): Map<string, string> | undefined {
  scanner.reset(bytes, 0, bytes.length);
  scanner.skipSpace();
  const fields = new Map<string, string>();
  if (scanner.peek() !== openBrace || !scanner.enter()) return undefined;
  scanner.skipSpace();
  if (scanner.peek() === closeBrace) return fields;
  for (;;) {
    if (!scanner.scanString()) return undefined;
    const name = scanner.textValue();
    if (!scanner.nameEnd()) return undefined;
    const from = scanner.position;
    if (!scanner.skipValue()) return undefined;
    fields.set(name, decodeUtf8(bytes, from, scanner.position));
    scanner.skipSpace();
    if (scanner.peek() === closeBrace) return fields;
    scanner.position++;
    scanner.skipSpace();
  }
}

export function objectText(fields: ReadonlyMap<string, string>): string {
  return `{${[...fields].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}
