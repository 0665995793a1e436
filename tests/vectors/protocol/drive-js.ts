/** Drives KafkaJS and @platformatic/kafka through their common calls, for record-frames.ts: `bun drive-js.ts HOST:PORT`. */
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from "@platformatic/kafka";
import { Kafka, logLevel } from "kafkajs";

const broker = process.argv[2] ?? "127.0.0.1:9092";

async function kafkajs(): Promise<void> {
  const kafka = new Kafka({ clientId: "kafkajs", brokers: [broker], logLevel: logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: "js", numPartitions: 2 }] });
  await admin.createPartitions({ topicPartitions: [{ topic: "js", count: 3 }] });
  await admin.fetchTopicMetadata();
  await admin.describeCluster();
  await admin.describeConfigs({ includeSynonyms: true, resources: [{ type: 2, name: "js", configNames: ["retention.ms"] }] });
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: 2, name: "js", configEntries: [{ name: "retention.ms", value: "100000" }] }],
  });
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic: "js", messages: [{ key: "k", value: "v", headers: { h: "1" } }, { value: null }] });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: "js-group" });
  await consumer.connect();
  await consumer.subscribe({ topic: "js", fromBeginning: true });
  await new Promise<void>((resolve) => {
    let seen = 0;
    void consumer.run({
      eachMessage: async () => {
        if (++seen === 2) resolve();
      },
    });
  });
  await admin.fetchTopicOffsets("js");
  await admin.describeGroups(["js-group"]);
  await consumer.disconnect();
  await admin.fetchOffsets({ groupId: "js-group", topics: ["js"] });
  await admin.listGroups();
  await admin.deleteTopicRecords({ topic: "js", partitions: [{ partition: 0, offset: "0" }] });
  await admin.deleteGroups(["js-group"]);
  await admin.deleteTopics({ topics: ["js"] });
  await admin.disconnect();
}

async function platformatic(): Promise<void> {
  const options = { clientId: "platformatic", bootstrapBrokers: [broker] };
  const admin = new Admin(options);
  await admin.createTopics({ topics: ["pl"], partitions: 1, replicas: 1 });
  const producer = new Producer({ ...options, serializers: stringSerializers });
  await producer.send({ messages: [{ topic: "pl", key: "k", value: "v", headers: { h: "1" } }] });
  await producer.close();
  const consumer = new Consumer({ ...options, groupId: "pl-group", deserializers: stringDeserializers });
  const stream = await consumer.consume({ topics: ["pl"], mode: "earliest", autocommit: true, maxWaitTime: 200 });
  for await (const message of stream) {
    await message.commit();
    break;
  }
  await stream.close();
  await consumer.close(true);
  await admin.listGroups();
  await admin.deleteGroups({ groups: ["pl-group"] });
  await admin.deleteTopics({ topics: ["pl"] });
  await admin.close();
}

await kafkajs();
await platformatic();
process.exit(0);
