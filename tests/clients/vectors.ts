/** Results of the scenarios on a real Apache Kafka: one file a client in tests/vectors/clients, written by record.ts. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("../vectors/clients", import.meta.url));

export interface Vectors {
  provenance: Record<string, string>;
  results: Record<string, unknown>;
}

export function readVectors(client: string): Vectors | undefined {
  const path = join(directory, `${client}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Vectors) : undefined;
}

export function writeVectors(client: string, vectors: Vectors): void {
  mkdirSync(directory, { recursive: true });
  const results = Object.entries(vectors.results).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(
    join(directory, `${client}.json`),
    `${JSON.stringify({ ...vectors, results: Object.fromEntries(results) }, null, 1)}\n`,
  );
}
