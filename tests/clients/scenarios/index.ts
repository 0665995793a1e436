/** All scenarios that run against Rowlog and Apache Kafka alike. */
import type { Scenario } from "../scenario.ts";
import { groupScenarios } from "./groups.ts";
import { recordScenarios } from "./records.ts";

export const scenarios: readonly Scenario[] = [...recordScenarios, ...groupScenarios];
