/** Alters a table and is killed before DuckDB's log is folded into its database. Argument: the lake's folder. */
import { nodeDisk } from "../../../src/platform/node_disk.ts";
import { Lake } from "../lake.ts";

const lake = await Lake.open(nodeDisk(), process.argv[2]);
await lake.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR, b SMALLINT DEFAULT 3)");
await lake.sql("INSERT INTO t VALUES (1, 'x', 1)");
lake.engine!.checkpoint = async () => undefined;
for (const sql of [
  "ALTER TABLE t ADD COLUMN c JSON DEFAULT '[1]'",
  "INSERT INTO t VALUES (2, 'y', 2, '{}')",
  "ALTER TABLE t RENAME COLUMN a TO name",
  "ALTER TABLE t ALTER COLUMN b TYPE BIGINT",
  "ALTER TABLE t ALTER COLUMN name SET NOT NULL",
  "ALTER TABLE t ALTER COLUMN b DROP DEFAULT",
  "INSERT INTO t (id, name) VALUES (3, 'z')",
  "ALTER TABLE t DROP COLUMN c",
  "COMMENT ON TABLE t IS 'altered'",
])
  await lake.sql(sql);
await lake.tables.barrier();
process.kill(process.pid, "SIGKILL");
