/**
 * The node: puts the parts together on one lake, in the order in which they need each other, and takes them apart again.
 *
 * Invariant: the lake's lock is held from before the first file is read until after the last one is closed.
 */
import { systemClock } from "../base/clock.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { MetricsRegistry } from "../base/metrics.ts";
import { Broker } from "../broker/broker.ts";
import { BrokerMetrics } from "../broker/broker_metrics.ts";
import { brokerSettings } from "../broker/broker_settings.ts";
import { FetchSessions } from "../broker/fetch_sessions.ts";
import type { Services } from "../broker/handler.ts";
import { openGroups } from "../broker/offsets_topic.ts";
import { ProducerIds } from "../broker/producer_ids.ts";
import { Topics } from "../broker/topics.ts";
import { Catalog } from "../catalog/catalog.ts";
import type { CoordinatorSettings } from "../groups/coordinator_types.ts";
import { kernels } from "../hotpath/kernels.ts";
import { createHttpApp } from "../http/app.ts";
import { watchEventLoop } from "../http/metrics_collectors.ts";
import { nodeGroups } from "../http/node_groups.ts";
import { addTableMetrics, nodeTables } from "../http/node_tables.ts";
import { nodeTopics } from "../http/node_topics.ts";
import type { HttpServices } from "../http/services.ts";
import { addLogMetrics } from "../log/log_metrics.ts";
import { LogStore } from "../log/log_store.ts";
import { type HttpServer, serveHttp } from "../platform/http_server.ts";
import { lockDirectory } from "../platform/lock.ts";
import { nodeDisk } from "../platform/node_disk.ts";
import { SqlEngine } from "../sql/engine.ts";
import { SqlRunner } from "../tables/execute.ts";
import { Tables } from "../tables/tables.ts";
import { BackupStage } from "./backup_stage.ts";
import { removeNodeAddress, writeNodeAddress } from "./lake_files.ts";
import { isWildcardHost, showAddress } from "./option_types.ts";
import type { NodeConfig } from "./options.ts";
import type { RunningNode } from "./serve.ts";
import { version } from "./version.ts";

/** This node's id: Kafka's tools and the peers' test suites expect a lone broker to be 1. */
const nodeId = 1;

/** The node owns its tables; the broker sees only their gate. */
type NodeServices = Services & { tables: Tables };

export async function startNode(config: NodeConfig, logger: Logger): Promise<RunningNode> {
  const disk = nodeDisk();
  disk.makeDirectory(config.lake);
  const lock = lockDirectory(config.lake);
  try {
    return await startLocked(config, logger, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(config: NodeConfig, logger: Logger, unlock: () => void): Promise<RunningNode> {
  if (!kernels.loaded)
    logger.warn("WebAssembly kernels are not available: slower ones in JavaScript serve", { reason: kernels.reason });
  const metrics = new MetricsRegistry();
  const groupSettings = {
    initialRebalanceDelayMs: config.groupInitialRebalanceDelayMs,
    offsetsRetentionMs: config.offsetsRetentionMinutes * 60_000,
    sessionTimeoutMsMin: config.groupMinSessionTimeoutMs,
    sessionTimeoutMsMax: config.groupMaxSessionTimeoutMs,
  };
  const services = await openServices(config, logger, metrics, groupSettings);
  const { tables, topics } = services;
  const broker = new Broker(services);
  const kafkaAddress = () => ({ host: config.kafka.host, port: broker.port });
  const stopping = new AbortController();
  const sql = new SqlRunner(tables, { idleMs: config.sqlIdleTimeoutMs });
  const answering = httpServices(
    services,
    sql,
    config.lake,
    metrics,
    stopping.signal,
    () => config.kafkaAdvertise ?? kafkaAddress(),
  );
  const app = createHttpApp(answering, { logger, host: config.http.host });
  const close = async (http: HttpServer | undefined) => {
    stopping.abort();
    // Groups first: requests that wait for a rebalance would hold up the broker's end.
    const stops = [http?.stop(config.shutdownTimeoutMs), broker.stop(config.shutdownTimeoutMs)];
    // And transactions that are open: producers wait for their end.
    await Promise.all([sql.sessions.closeAll(), services.groups.close(), ...stops]);
    await tables.close();
    await services.logs.close();
    services.catalog.close();
  };
  // The ports last, one right after the other: who finds one open finds the other open too.
  await broker.start(config.kafka.host, config.kafka.port);
  let http: HttpServer;
  try {
    http = serveHttp({ ...config.http, fetch: app.fetch, bodyBytesMax: limits.httpBodyBytesMax });
  } catch (error) {
    await close(undefined);
    throw error;
  }
  services.brokerConfigs = brokerSettings({
    config: services.config,
    listener: kafkaAddress(),
    groups: groupSettings,
    topicDefaults: topics.defaultsOf(),
    compaction: services.logs.compactor.options,
  });
  addTableMetrics(metrics, tables);
  addLogMetrics(metrics, services.logs, services.clock);
  tables.start();
  writeNodeAddress(config.lake, httpAddressFor(config, http.port));
  const unwatch = watchEventLoop(metrics);
  return {
    kafkaAddress: kafkaAddress(),
    httpAddress: { host: config.http.host, port: http.port },
    async close() {
      unwatch();
      removeNodeAddress(config.lake);
      await close(http);
      unlock();
    },
  };
}

/** Opens what the lake holds and puts the parts that answer Kafka requests on it; nothing listens yet. */
async function openServices(
  config: NodeConfig,
  logger: Logger,
  metrics: MetricsRegistry,
  groupSettings: Partial<CoordinatorSettings>,
): Promise<NodeServices> {
  const clock = systemClock;
  const disk = nodeDisk();
  const logDirectory = `${config.lake}/log`;
  const catalog = await Catalog.open(disk, `${config.lake}/catalog`, clock, logger);
  const logs = LogStore.open(disk, logDirectory, {
    durability: config.durability,
    clock,
    logger,
    compaction: {
      enabled: config.logCleaner,
      backoffMs: config.logCleanerBackoffMs,
      mapBytes: config.logCleanerMemoryBytes,
      bytesPerSecond: config.logCleanerRateBytes,
    },
  });
  for (const name of logs.unclaimedTopics()) if (!catalog.topic(name)) logs.deleteTopic(name);
  const topics = new Topics(catalog, logs, {
    plain: retention(config.retainSecs),
    table: retention(config.changelogSecs ?? config.retainSecs),
  });
  const tables = new Tables({
    catalog,
    log: (topic, partition) => topics.log(topic, partition),
    startEngine: () =>
      SqlEngine.start({
        path: `${config.lake}/tables.duckdb`,
        logger,
        memoryBytesMax: config.sqlMemoryLimitBytes,
        compression: config.sqlStorageCompression,
        timeoutMs: config.sqlTimeoutMs,
      }),
    clock,
    logger,
  });
  topics.retainFrom = (topic, partition) => tables.retainFrom(topic, partition);
  topics.beforeDelete = (topic, partition, offset) => tables.beforeDelete(topic, partition, offset);
  return {
    config: {
      nodeId,
      advertised: config.kafkaAdvertise,
      autoCreateTopics: config.autoCreateTopics,
      numPartitions: config.numPartitions,
      logDirectory,
    },
    clock,
    logger,
    catalog,
    logs,
    topics,
    groups: openGroups({ catalog, topics, disk, logDirectory, clock, logger, settings: groupSettings }),
    fetchSessions: new FetchSessions({ nowMs: () => clock.monotonicMs() }),
    producerIds: new ProducerIds(catalog),
    storage: () => disk.freeBytes(config.lake),
    brokerConfigs: new Map(),
    metrics: new BrokerMetrics(metrics),
    tables,
  };
}

/** What the HTTP routes see of the node. */
function httpServices(
  services: NodeServices,
  sql: SqlRunner,
  lake: string,
  metrics: MetricsRegistry,
  stopping: AbortSignal,
  kafkaAddress: () => { host: string; port: number },
): HttpServices {
  const { catalog, clock, logs, tables } = services;
  return {
    node: {
      version,
      clusterId: catalog.clusterId,
      get kafkaAddress() {
        return showAddress(kafkaAddress());
      },
      startedAtMs: clock.nowMs(),
    },
    sql,
    topics: nodeTopics(services, stopping),
    tables: nodeTables(catalog),
    groups: nodeGroups(services),
    metrics,
    backup: new BackupStage({ lake, catalog, logs, tables }),
    notReady: () => [
      ...tables.notReady().map((reason) => ({ part: "sql", reason })),
      ...failedLogs(logs).map((reason) => ({ part: "log", reason })),
    ],
    storage: () => {
      const { free, total } = services.storage();
      return { freeBytes: free, totalBytes: total };
    },
  };
}

/** Where a command on this machine reaches the node. */
function httpAddressFor(config: NodeConfig, port: number): string {
  const { host } = config.http;
  return `http://${showAddress({ host: isWildcardHost(host) ? "127.0.0.1" : host, port })}`;
}

/** Partitions whose disk failed, so that they refuse produces; the first few. */
function failedLogs(logs: LogStore): string[] {
  const reasons: string[] = [];
  for (const log of logs.partitions()) {
    if (log.faultReason !== undefined) reasons.push(`${log.topic}-${log.partition}: ${log.faultReason}`);
    if (reasons.length === 10) break;
  }
  return reasons;
}

/** Kafka's default of retention.ms: not shown as a setting of this node. */
const retentionSecsByDefault = 7 * 24 * 3600;

/** Seconds of retention (-1: for ever) as a default of topic configs. */
function retention(seconds: number): ReadonlyMap<string, string> {
  if (seconds === retentionSecsByDefault) return new Map();
  return new Map([["retention.ms", String(seconds < 0 ? -1 : seconds * 1000)]]);
}
