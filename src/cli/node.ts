/**
 * The node: puts the parts together on one lake, in the order in which they need each other, and takes them apart again.
 *
 * Invariant: the lake's lock is held from before the first file is read until after the last one is closed.
 */
import { systemClock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { Broker } from "../broker/broker.ts";
import type { Services } from "../broker/handler.ts";
import { ProducerIds } from "../broker/producer_ids.ts";
import { Topics } from "../broker/topics.ts";
import { brokerNamesOfTopicDefaults } from "../catalog/broker_configs.ts";
import { Catalog } from "../catalog/catalog.ts";
import { GroupCoordinator } from "../groups/coordinator.ts";
import { MemoryOffsetsLog } from "../groups/offsets_log.ts";
import { LogStore } from "../log/log_store.ts";
import { lockDirectory } from "../platform/lock.ts";
import { nodeDisk } from "../platform/node_disk.ts";
import type { NodeConfig } from "./options.ts";
import type { RunningNode } from "./serve.ts";

/** This node's id: Kafka's tools and the peers' test suites expect a lone broker to be 1. */
const nodeId = 1;

export async function startNode(config: NodeConfig, logger: Logger): Promise<RunningNode> {
  const clock = systemClock;
  const disk = nodeDisk();
  disk.makeDirectory(config.lake);
  const lock = lockDirectory(config.lake);
  const catalog = await Catalog.open(disk, `${config.lake}/catalog`, clock, logger);
  const logs = LogStore.open(disk, `${config.lake}/log`, { durability: config.durability, clock, logger });
  const topics = new Topics(catalog, logs, new Map([["retention.ms", String(config.retainSecs * 1000)]]));
  const services: Services = {
    config: {
      nodeId,
      advertised: config.kafkaAdvertise,
      autoCreateTopics: config.autoCreateTopics,
      numPartitions: config.numPartitions,
      logDirectory: `${config.lake}/log`,
    },
    clock,
    logger,
    catalog,
    logs,
    topics,
    groups: GroupCoordinator.open({ log: new MemoryOffsetsLog(), clock, logger }),
    brokerConfigs: brokerNamesOfTopicDefaults(topics.defaults),
    producerIds: new ProducerIds(catalog),
    tables: {
      ingest() {
        throw new Error("no tables yet");
      },
    },
  };
  const broker = new Broker(services);
  await broker.start(config.kafka.host, config.kafka.port);
  return {
    kafkaAddress: { host: config.kafka.host, port: broker.port },
    httpAddress: config.http,
    async close() {
      await broker.stop(config.shutdownTimeoutMs);
      await logs.close();
      catalog.close();
      lock.release();
    },
  };
}
