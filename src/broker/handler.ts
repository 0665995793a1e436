/**
 * What a handler file is: one API, a function from the decoded request to the decoded answer. The dispatcher reads and
 * writes frames; a handler never sees bytes other than record batches. The version ranges are in protocol/apis.ts.
 */
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { GroupCoordinator } from "../groups/coordinator.ts";
import type { LogStore } from "../log/log_store.ts";
import type { BrokerMetrics } from "./broker_metrics.ts";
import type { FetchSessions } from "./fetch_sessions.ts";
import type { ProducerIds } from "./producer_ids.ts";
import type { TableGate } from "./table_gate.ts";
import type { Topics } from "./topics.ts";

export interface BrokerConfig {
  /** This node's id in Metadata. */
  nodeId: number;
  /** The address for clients; absent: the one that each client reached. */
  advertised: { host: string; port: number } | undefined;
  autoCreateTopics: boolean;
  /** Partitions of a topic created without a count (num.partitions). */
  numPartitions: number;
  /** The lake's folder, as DescribeLogDirs shows it. */
  logDirectory: string;
}

/** Everything that handlers may call. */
export interface Services {
  config: BrokerConfig;
  clock: Clock;
  logger: Logger;
  catalog: Catalog;
  logs: LogStore;
  topics: Topics;
  groups: GroupCoordinator;
  fetchSessions: FetchSessions;
  producerIds: ProducerIds;
  metrics: BrokerMetrics;
  /** Free and total bytes of the lake's file system. */
  storage(): { free: number; total: number };
  /** The node's values of Kafka's broker settings, where they are not the defaults. */
  brokerConfigs: ReadonlyMap<string, string>;
  /** What typed and raw tables ask of produces. */
  tables: TableGate;
}

/** One request's surroundings. */
export interface RequestContext {
  readonly services: Services;
  readonly apiVersion: number;
  readonly clientId: string | null;
  /** The peer's address, as group descriptions show it. */
  readonly clientHost: string;
  /** The address that the client reached. */
  readonly localHost: string;
  readonly localPort: number;
  readonly connectionId: number;
  /** `fn` runs when the connection closes before the answer; the result takes it back. */
  onClose(fn: () => void): () => void;
  /** ApiVersions tells the client's software name and version. */
  setClientSoftware(text: string): void;
}

/** Thrown by a handler where the protocol's only answer is to close the connection; not a fault of the node. */
export class ConnectionMustClose extends Error {
  override name = "ConnectionMustClose";
}

/** `null` from a handler: the request has no answer (Produce with acks=0). */
export interface Handler<Request, Response> {
  readonly apiKey: number;
  handle(request: Request, context: RequestContext): Promise<Response | null> | Response | null;
}

/** Names the types of a handler; the dispatcher pairs it with its API by key. */
export function handler<Request, Response>(
  apiKey: number,
  handle: Handler<Request, Response>["handle"],
): Handler<Request, Response> {
  return { apiKey, handle };
}
