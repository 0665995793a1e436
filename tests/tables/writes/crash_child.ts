/**
 * Writes SQL transactions, one after the other, until it is killed; each number that it prints is committed. Arguments: the lake's folder,
 * the first number, and where it kills itself: `never`, or `before` or `after` the append of the third commit.
 */
import { nodeDisk } from "../../../src/platform/node_disk.ts";
import { Lake } from "../lake.ts";

const [directory, first, where] = process.argv.slice(2) as [string, string, "never" | "before" | "after"];
const lake = await Lake.open(nodeDisk(), directory);
await lake.tables.engine();
const { outbox } = lake.tables.writes;
const append = outbox.append.bind(outbox);
let commits = 0;
outbox.append = async (entries) => {
  commits++;
  if (commits === 3 && where === "before") process.kill(process.pid, "SIGKILL");
  await append(entries);
  if (commits === 3 && where === "after") process.kill(process.pid, "SIGKILL");
};
if (lake.catalog.topic("plain") === undefined) {
  await lake.catalog.createTopic({ name: "plain", partitions: 2 });
  await lake.sql("CREATE TABLE added (n INTEGER, part INTEGER) WITH (partitions = 2)");
  await lake.sql("CREATE TABLE keyed (id INTEGER PRIMARY KEY, n INTEGER)");
}
console.log("ready");
for (let n = Number(first); ; n++) {
  await lake.sql(
    `BEGIN; INSERT INTO added VALUES (${n}, 0), (${n}, 1);
     INSERT OR REPLACE INTO keyed VALUES (${n % 5}, ${n}); DELETE FROM keyed WHERE id = ${(n + 1) % 5};
     SELECT produce('plain', ${n % 2}, '${n}', 'value', NULL); COMMIT`,
  );
  console.log(n);
}
