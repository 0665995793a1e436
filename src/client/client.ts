/**
 * A client of a Kafka cluster (ours or another): bootstrap, metadata, leaders and coordinators, one connection per broker.
 * Invariant: a failure names the broker and what was asked of it; a retry happens only where Kafka calls the error retriable.
 */
import { type Address, parseAddress, showAddress } from "../base/address.ts";
import { errorCodes, errorName, KafkaError } from "../base/kafka_error.ts";
import { newFindCoordinatorRequest } from "../protocol/generated/find_coordinator_request.ts";
import { type ApiKey, apiKeys, type RequestOf, type ResponseOf } from "../protocol/generated/index.ts";
import { newMetadataRequest, newMetadataRequestTopic } from "../protocol/generated/metadata_request.ts";
import type { MetadataResponse, MetadataResponseTopic } from "../protocol/generated/metadata_response.ts";
import { ConnectionError, KafkaConnection, type SendOptions } from "./connection.ts";

export interface ClientOptions {
  brokers: readonly Address[];
  clientId?: string;
  /** For connecting, and for one answer. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** `host[:port],host[:port]`; the port defaults to Kafka's 9092. Undefined when an entry is no address. */
export function parseBrokers(text: string): Address[] | undefined {
  const brokers = text.split(",").map((entry) => parseAddress(entry, 9092));
  return brokers.every((broker) => broker !== undefined && broker.host !== "") ? (brokers as Address[]) : undefined;
}

const retriable = new Set<number>([
  errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
  errorCodes.LEADER_NOT_AVAILABLE,
  errorCodes.NOT_LEADER_OR_FOLLOWER,
  errorCodes.REQUEST_TIMED_OUT,
  errorCodes.REPLICA_NOT_AVAILABLE,
  errorCodes.NETWORK_EXCEPTION,
  errorCodes.COORDINATOR_LOAD_IN_PROGRESS,
  errorCodes.COORDINATOR_NOT_AVAILABLE,
  errorCodes.NOT_COORDINATOR,
  errorCodes.NOT_ENOUGH_REPLICAS,
  errorCodes.FENCED_LEADER_EPOCH,
  errorCodes.UNKNOWN_LEADER_EPOCH,
]);

export function isRetriable(code: number): boolean {
  return retriable.has(code);
}

/** Throws the KafkaError of a non-zero code, with the broker's message or with what failed. */
export function check(code: number, what: string, message?: string | null): void {
  if (code !== 0) throw new KafkaError(errorName(code), `${what}: ${message ? message : errorName(code)}`);
}

export class KafkaClient {
  readonly options: Required<Omit<ClientOptions, "signal">> & { signal: AbortSignal | undefined };
  readonly #connections = new Map<string, Promise<KafkaConnection>>();
  #brokers = new Map<number, Address>();
  #topics = new Map<string, MetadataResponseTopic>();
  #coordinators = new Map<string, number>();

  constructor(options: ClientOptions) {
    this.options = { clientId: "rowlog", timeoutMs: 30_000, ...options, signal: options.signal };
  }

  /** Asks any broker that can be reached. */
  async request<K extends ApiKey>(apiKey: K, body: RequestOf<K>, options?: SendOptions): Promise<ResponseOf<K>> {
    return (await this.#anyBroker()).send(apiKey, body, options);
  }

  /** Asks one broker by id. */
  async requestOf<K extends ApiKey>(
    broker: number,
    apiKey: K,
    body: RequestOf<K>,
    options?: SendOptions,
  ): Promise<ResponseOf<K>> {
    return (await this.broker(broker)).send(apiKey, body, options);
  }

  /** Brokers, and the topics named (null: all). Unknown topics come back with their error code. */
  async metadata(topics: readonly string[] | null, allowAutoTopicCreation = false): Promise<MetadataResponse> {
    const named = topics === null ? null : topics.map((name) => newMetadataRequestTopic({ name }));
    const body = newMetadataRequest({ topics: named, allowAutoTopicCreation });
    const answer = await this.request(apiKeys.Metadata, body, { minVersion: 4, maxVersion: 12 });
    this.#brokers = new Map(answer.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    for (const topic of answer.topics) if (topic.name !== null) this.#topics.set(topic.name, topic);
    return answer;
  }

  /** One topic's metadata, asked for again while it is being created or has no leaders yet. Throws KafkaError. */
  async topic(name: string, options: { fresh?: boolean; create?: boolean } = {}): Promise<MetadataResponseTopic> {
    const known = this.#topics.get(name);
    if (known && known.errorCode === 0 && !options.fresh) return known;
    for (let attempt = 0; ; attempt++) {
      const topic = (await this.metadata([name], options.create)).topics.find((found) => found.name === name);
      const code = topic?.errorCode ?? errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
      if (topic && code === 0 && topic.partitions.every(({ leaderId }) => leaderId >= 0)) return topic;
      const waits = options.create || code === errorCodes.LEADER_NOT_AVAILABLE || code === 0;
      if (!waits || attempt >= 20) {
        const hint = code === errorCodes.UNKNOWN_TOPIC_OR_PARTITION ? `there is no topic "${name}"` : `topic "${name}"`;
        throw new KafkaError(errorName(code), code === 3 ? hint : `${hint}: ${errorName(code)}`);
      }
      await this.pause(100);
    }
  }

  /** Broker id of a partition's leader. */
  async leader(topic: string, partition: number, fresh = false): Promise<number> {
    const found = (await this.topic(topic, { fresh })).partitions.find((entry) => entry.partitionIndex === partition);
    if (!found) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `topic "${topic}" has no partition ${partition}`);
    return found.leaderId;
  }

  /** Broker id of a group's coordinator. */
  async coordinator(group: string, fresh = false): Promise<number> {
    const known = this.#coordinators.get(group);
    if (known !== undefined && !fresh) return known;
    for (let attempt = 0; ; attempt++) {
      const body = newFindCoordinatorRequest({ key: group, keyType: 0 });
      const answer = await this.request(apiKeys.FindCoordinator, body, { maxVersion: 3 });
      if (answer.errorCode === 0) {
        this.#brokers.set(answer.nodeId, { host: answer.host, port: answer.port });
        this.#coordinators.set(group, answer.nodeId);
        return answer.nodeId;
      }
      if (!isRetriable(answer.errorCode) || attempt >= 50)
        check(answer.errorCode, `coordinator of group "${group}"`, answer.errorMessage);
      await this.pause(100);
    }
  }

  async broker(id: number): Promise<KafkaConnection> {
    let address = this.#brokers.get(id);
    if (!address) {
      await this.metadata([]);
      address = this.#brokers.get(id);
    }
    if (!address) throw new ConnectionError(`the cluster has no broker ${id}`);
    try {
      return await this.#connection(address);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      throw new ConnectionError(
        `${error.message} (broker ${id} told clients to use that address; on a Rowlog node --kafka-advertise sets it)`,
        error.code,
      );
    }
  }

  /** Waits, unless the signal ends it sooner. */
  pause(ms: number): Promise<void> {
    const signal = this.options.signal;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      if (signal?.aborted) done();
      else signal?.addEventListener("abort", done);
    });
  }

  close(): void {
    for (const connection of this.#connections.values())
      connection.then(
        (open) => open.close(),
        () => {},
      );
    this.#connections.clear();
  }

  async #anyBroker(): Promise<KafkaConnection> {
    let failure: unknown;
    for (const address of [...this.options.brokers, ...this.#brokers.values()]) {
      try {
        return await this.#connection(address);
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure ?? new ConnectionError("no broker was named");
  }

  async #connection(address: Address): Promise<KafkaConnection> {
    const key = showAddress(address);
    const known = await this.#connections.get(key)?.catch(() => undefined);
    if (known?.isOpen) return known;
    const opening = KafkaConnection.open(address, this.options);
    this.#connections.set(key, opening);
    opening.catch(() => {
      if (this.#connections.get(key) === opening) this.#connections.delete(key);
    });
    return opening;
  }
}
