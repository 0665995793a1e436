/**
 * Plays the scenarios against a running server and writes what it answered: `bun tests/groups/record_answers.ts PORT FILE`.
 * tests/vectors/groups/answers.json was recorded so from Apache Kafka 4.4.0 (one KRaft node, group.initial.rebalance.delay.ms=0).
 */
import { writeFileSync } from "node:fs";
import { playAll } from "./scenarios.ts";

const [port, file] = process.argv.slice(2);
if (!port || !file) throw new Error("usage: bun tests/groups/record_answers.ts PORT FILE");
writeFileSync(file, `${JSON.stringify(await playAll(Number(port), `story${Date.now()}`), null, 1)}\n`);
