/** Values of the newest version written in older ones: what Kafka leaves out, and what it refuses to leave out. */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ProtocolError } from "../../src/protocol/protocol_error.ts";
import { Reader } from "../../src/protocol/reader.ts";
import { Writer } from "../../src/protocol/writer.ts";
import { loadGenerated } from "./twin.ts";

const lines = readFileSync(join(import.meta.dirname, "../vectors/protocol/java_older.txt"), "utf8")
  .trim()
  .split("\n");

for (const [name, cases] of Map.groupBy(lines, (line) => line.slice(0, line.indexOf(" ")))) {
  test(name, async () => {
    const { read, write } = await loadGenerated(name);
    for (const line of cases) {
      const [, newest, version, hex, expected] = line.split(" ") as [string, string, string, string, string];
      const value = read(new Reader(Buffer.from(hex, "hex")), Number(newest));
      let answer: string;
      try {
        const w = new Writer();
        write(w, value, Number(version));
        answer = Buffer.from(w.finishBytes()).toString("hex");
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        answer = "refused";
      }
      expect(answer, line).toBe(expected);
    }
  });
}
