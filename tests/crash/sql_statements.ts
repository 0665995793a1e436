/** Statements of the random transactions. */
import type { SeededRandom } from "../../src/platform/sim/random.ts";
import type { SentRecord, TopicState } from "./model.ts";

/** A statement that writes what `records` (two) say to a table, or by produce() to a topic. */
export function writeStatement(
  random: SeededRandom,
  { name, state }: { name: string; state: TopicState },
  records: readonly SentRecord[],
): string {
  if (state.shape === "plain") return `SELECT produce('${name}', 'k', '${records[0]!.n}:${records[0]!.text}')`;
  if (state.shape === "typed")
    return `INSERT INTO ${name} (n, text) VALUES ${records.map(({ n, text }) => `(${n}, '${text}')`).join(", ")}`;
  const { id, n, text } = records[0]!;
  const row = `(${id}, ${n}, '${text}')`;
  switch (random.below(4)) {
    case 0:
      return `DELETE FROM ${name} WHERE id = ${id}`;
    case 1:
      return `UPDATE ${name} SET n = ${n}, text = '${text}' WHERE id >= ${id}`;
    case 2:
      return `INSERT INTO ${name} (id, n, text) VALUES ${row} ON CONFLICT (id) DO UPDATE SET n = excluded.n`;
    default:
      return `INSERT OR REPLACE INTO ${name} (id, n, text) VALUES ${row}`;
  }
}
