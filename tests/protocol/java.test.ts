/** Every message and version against bytes and JSON that Kafka's own classes wrote (tests/vectors/protocol/java.txt). */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Reader } from "../../src/protocol/reader.ts";
import { Writer } from "../../src/protocol/writer.ts";
import { loadGenerated, loadSchema, Twin } from "./twin.ts";

const lines = readFileSync(join(import.meta.dirname, "../vectors/protocol/java.txt"), "utf8")
  .trim()
  .split("\n");
const byMessage = Map.groupBy(lines, (line) => line.slice(0, line.indexOf(" ")));

test("there are vectors of every message and version", () => {
  for (const { name, versions } of loadSchema()) {
    const seen = new Set(byMessage.get(name)!.map((line) => Number(line.split(" ")[1])));
    for (let version = versions[0]; version <= versions[1]; version++) expect(seen.has(version), name).toBe(true);
  }
});

for (const message of loadSchema()) {
  test(message.name, async () => {
    const { read, write } = await loadGenerated(message.name);
    const twin = new Twin(message);
    for (const line of byMessage.get(message.name)!) {
      const [, versionText = "", hex = ""] = line.split(" ", 3);
      const json = line.slice(line.indexOf("{"));
      const version = Number(versionText);
      const r = new Reader(Buffer.from(hex, "hex"));
      const value = read(r, version);
      expect(r.remaining).toBe(0);
      // Whole numbers of 16 digits and more would lose digits in JSON.parse.
      const exact = json.replace(/([:[,])(-?\d{16,})(?=[,\]}])/g, '$1"$2"');
      expect(twin.json(value, version)).toEqual(withoutRecords(JSON.parse(exact)));
      const w = new Writer();
      write(w, value, version);
      expect(Buffer.from(w.finishBytes()).toString("hex")).toBe(hex);
    }
  });
}

/** Kafka's converter shows only the size of record data. */
function withoutRecords(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutRecords);
  if (json === null || typeof json !== "object") return json;
  const kept = Object.entries(json).filter(([key]) => key !== "recordsSizeInBytes" && key !== "records");
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutRecords(value)]));
}
