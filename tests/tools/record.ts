/** Records the tools' outputs on a real Apache Kafka into tests/vectors/tools.json: `bun tests/tools/record.ts`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { versions } from "../../scripts/install-clients.ts";
import { stopKafka } from "../../scripts/kafka-reference.ts";
import { startReference } from "../clients/target.ts";
import { LogDump } from "./dump_log.ts";
import { runSteps } from "./run_steps.ts";
import { ToolRunner } from "./tool_runner.ts";

const target = await startReference([], true);
const runner = new ToolRunner();
try {
  const results = await runSteps(runner, target.bootstrap);
  await stopKafka(target.directory);
  const dump = await new LogDump(runner, join(target.directory, "data")).all();
  const provenance = {
    broker: `Apache Kafka ${versions.kafka}, one KRaft node, scripts/kafka-reference.ts`,
    command: "bun tests/tools/record.ts",
  };
  const file = fileURLToPath(new URL("../vectors/tools.json", import.meta.url));
  writeFileSync(
    file,
    `${JSON.stringify({ provenance, results: Object.fromEntries([...results, ...dump]) }, null, 1)}\n`,
  );
} finally {
  await runner.end();
  await target.stop();
}
