/** The clients that the scenarios are run with: how each driver is started, and what each can say and do. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  component,
  goProgram,
  javaClasses,
  javaDriverDirectory,
  kafkaClassPath,
  pythonProgram,
} from "../../scripts/install-clients.ts";
import { Driver } from "./driver.ts";

const drivers = fileURLToPath(new URL("drivers", import.meta.url));

export interface ClientDefinition {
  readonly name: string;
  /** Components of scripts/install-clients.ts that must be there. */
  readonly components: readonly string[];
  readonly command: () => string[];
  /** Can be an incremental cooperative group member. */
  readonly cooperative: boolean;
  /** Can be a static group member. */
  readonly static: boolean;
  /** Hands its user some records twice around a rebalance, on Apache Kafka too. */
  readonly repeats?: boolean;
  /** Lets its user send a record with neither key nor value. */
  readonly nullPair: boolean;
}

const bun = process.execPath;
const python = (file: string) => () => [pythonProgram(), "-u", join(drivers, file)];
const javaFlags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"];
const javaPath = () => `${javaClasses(javaDriverDirectory)}:${kafkaClassPath()}`;

export const clients: readonly ClientDefinition[] = [
  {
    name: "confluent-kafka",
    components: ["python"],
    command: python("confluent.py"),
    cooperative: true,
    static: true,
    nullPair: true,
  },
  {
    name: "kafka-python",
    components: ["python"],
    command: python("kafka_python.py"),
    cooperative: true,
    static: true,
    nullPair: false,
  },
  {
    name: "kcat",
    components: ["kcat"],
    command: () => [bun, join(drivers, "kcat.ts")],
    cooperative: true,
    static: true,
    nullPair: true,
  },
  {
    name: "java",
    components: ["jars", "java"],
    command: () => ["java", ...javaFlags, "-cp", javaPath(), "Driver"],
    cooperative: true,
    static: true,
    nullPair: true,
  },
  {
    name: "sarama",
    components: ["go"],
    command: () => [goProgram(), "sarama"],
    cooperative: true,
    static: true,
    nullPair: true,
  },
  {
    name: "franz-go",
    components: ["go"],
    command: () => [goProgram(), "franz-go"],
    cooperative: true,
    static: true,
    nullPair: true,
  },
  {
    name: "kafkajs",
    components: [],
    command: () => [bun, join(drivers, "kafkajs.ts")],
    cooperative: false,
    static: false,
    nullPair: true,
  },
  {
    name: "platformatic",
    repeats: true,
    components: [],
    command: () => [bun, join(drivers, "platformatic.ts")],
    cooperative: false,
    static: true,
    nullPair: true,
  },
];

/** Why the client cannot run on this machine, or undefined when it can. */
export function missing(client: ClientDefinition): string | undefined {
  const absent = client.components.filter((name) => !component(name).installed());
  return absent.length === 0 ? undefined : `not installed: ${absent.join(", ")} (bun scripts/install-clients.ts)`;
}

/** The clients to test: all, or those that ROWLOG_TEST_CLIENTS names, separated by commas. */
export function chosenClients(): ClientDefinition[] {
  const names = process.env.ROWLOG_TEST_CLIENTS?.split(",").filter((name) => name !== "");
  if (names === undefined || names.length === 0) return [...clients];
  return names.map((name) => {
    const found = clients.find((client) => client.name === name);
    if (found === undefined)
      throw new Error(`no client ${name}; there are ${clients.map((client) => client.name).join(", ")}`);
    return found;
  });
}

/** Starts the client's driver. */
export function startDriver(client: ClientDefinition): Driver {
  return new Driver(client.command(), { PYTHONDONTWRITEBYTECODE: "1" });
}
