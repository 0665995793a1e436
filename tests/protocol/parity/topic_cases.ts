/** Cases about topics: metadata, making, deleting, extending, records deleted, configs. */
import { asks, type Case, inTurn, makeTopic } from "./case.ts";
import { versionsOf } from "./peer.ts";

const newId = "AAAAAAAAAAAAAAAAAAAA7w";
const zero = "AAAAAAAAAAAAAAAAAAAAAA";
const ready = () => new Promise((done) => setTimeout(done, 300));

const idsTooEarly = "Kafka refuses ids below version 12; here they are found";

export const topicCases: Case[] = [
  {
    name: "Metadata of one topic in every version",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      return inTurn(
        versionsOf("Metadata").map(
          (version) => () => peer.ask("Metadata", version, { topics: [{ name }], allowAutoTopicCreation: false }),
        ),
      );
    },
  },
  {
    name: "Metadata of unknown and impossible topics",
    run: (peer) =>
      asks(
        peer,
        ["Metadata", 4, { topics: [{ name: `${peer.prefix}no` }], allowAutoTopicCreation: false }],
        ["Metadata", 12, { topics: [{ name: `${peer.prefix}no` }] }],
        ["Metadata", 12, { topics: [{ name: " a" }] }],
        ["Metadata", 12, { topics: [{ name: "." }] }],
        ["Metadata", 12, { topics: [{ name: "a".repeat(250) }] }],
        ["Metadata", 12, { topics: [{ name: "" }] }],
        ["Metadata", 12, { topics: [{ name: null, topicId: newId }] }],
        ["Metadata", 12, { topics: [{ name: null, topicId: zero }] }],
        ["Metadata", 12, { topics: [] }],
        ["Metadata", 1, { topics: [] }],
      ),
    differs: { 7: "Kafka fails with UNKNOWN_SERVER_ERROR; no name and no id is an unknown id here" },
  },
  {
    name: "Metadata of all topics, of none, and of a mix",
    async run(peer) {
      const { name } = await makeTopic(peer, "t");
      const mix = [{ name }, { name: `${peer.prefix}no` }, { name: " a" }, { name: "" }];
      return asks(
        peer,
        ["Metadata", 0, { topics: [] }],
        ["Metadata", 1, { topics: null }],
        ["Metadata", 1, { topics: [] }],
        ["Metadata", 5, { topics: null }],
        [
          "Metadata",
          9,
          { topics: null, includeTopicAuthorizedOperations: true, includeClusterAuthorizedOperations: true },
        ],
        ["Metadata", 9, { topics: [] }],
        ["Metadata", 12, { topics: null }],
        ["Metadata", 4, { topics: mix, allowAutoTopicCreation: false }],
        ["Metadata", 12, { topics: mix, allowAutoTopicCreation: true, includeTopicAuthorizedOperations: true }],
      );
    },
  },
  {
    name: "Metadata by id, and a name together with an id",
    async run(peer) {
      const { name, id } = await makeTopic(peer, "t");
      return asks(
        peer,
        ["Metadata", 12, { topics: [{ name: null, topicId: id }] }],
        ["Metadata", 10, { topics: [{ name: null, topicId: id }] }],
        ["Metadata", 11, { topics: [{ name, topicId: id }] }],
        ["Metadata", 12, { topics: [{ name }, { name }] }],
      );
    },
    differs: { 1: idsTooEarly, 2: idsTooEarly },
  },
  {
    name: "CreateTopics refused",
    async run(peer) {
      const topic = (fields: object) => ({
        topics: [{ numPartitions: 1, replicationFactor: 1, ...fields }],
        timeoutMs: 5000,
      });
      const name = `${peer.prefix}c`;
      await makeTopic(peer, "there.is");
      return asks(
        peer,
        ["CreateTopics", 7, topic({ name: "" })],
        ["CreateTopics", 7, topic({ name: "." })],
        ["CreateTopics", 7, topic({ name: ".." })],
        ["CreateTopics", 7, topic({ name: " a" })],
        ["CreateTopics", 7, topic({ name: "a".repeat(250) })],
        ["CreateTopics", 7, topic({ name: `${peer.prefix}there.is` })],
        ["CreateTopics", 7, topic({ name: `${peer.prefix}there_is` })],
        ["CreateTopics", 7, topic({ name, numPartitions: 0 })],
        ["CreateTopics", 7, topic({ name, numPartitions: -2 })],
        ["CreateTopics", 7, topic({ name, replicationFactor: 0 })],
        ["CreateTopics", 7, topic({ name, replicationFactor: 2 })],
        ["CreateTopics", 7, topic({ name, replicationFactor: -2 })],
        ["CreateTopics", 7, topic({ name, configs: [{ name: "nope", value: "1" }] })],
        ["CreateTopics", 7, topic({ name, configs: [{ name: "retention.ms", value: null }] })],
        ["CreateTopics", 7, topic({ name, assignments: [{ partitionIndex: 0, brokerIds: [1] }] })],
        [
          "CreateTopics",
          7,
          topic({
            name,
            numPartitions: -1,
            replicationFactor: -1,
            assignments: [{ partitionIndex: 1, brokerIds: [1] }],
          }),
        ],
        [
          "CreateTopics",
          7,
          topic({
            name,
            numPartitions: -1,
            replicationFactor: -1,
            assignments: [{ partitionIndex: 0, brokerIds: [9] }],
          }),
        ],
        [
          "CreateTopics",
          7,
          topic({
            name,
            numPartitions: -1,
            replicationFactor: -1,
            assignments: [{ partitionIndex: 0, brokerIds: [1, 1] }],
          }),
        ],
        [
          "CreateTopics",
          7,
          topic({
            name,
            numPartitions: -1,
            replicationFactor: -1,
            assignments: [{ partitionIndex: 0, brokerIds: [] }],
          }),
        ],
        [
          "CreateTopics",
          7,
          {
            topics: [
              { name, numPartitions: 1, replicationFactor: 1 },
              { name, numPartitions: 1, replicationFactor: 1 },
            ],
          },
        ],
        ["CreateTopics", 7, { topics: [] }],
        ["Metadata", 12, { topics: [{ name }], allowAutoTopicCreation: false }],
      );
    },
    differs: { 6: "A dot and an underscore collide only in Kafka's metric names; here they are two tables" },
  },
  {
    name: "CreateTopics in every version, and only validated",
    async run(peer) {
      const topic = (name: string, fields = {}) => ({
        topics: [{ name: peer.prefix + name, numPartitions: 2, replicationFactor: 1, ...fields }],
        timeoutMs: 5000,
      });
      const answers = await inTurn(
        versionsOf("CreateTopics").map((version) => async () => {
          const answer = await peer.ask(
            "CreateTopics",
            version,
            topic(`v${version}`, { configs: [{ name: "retention.ms", value: "5" }] }),
          );
          // Which configs a new topic has is compared where they are described.
          for (const one of answer.topics) delete one.configs;
          return answer;
        }),
      );
      const more = await inTurn([
        () => peer.ask("CreateTopics", 4, { ...topic("only"), validateOnly: true }),
        () => peer.ask("Metadata", 12, { topics: [{ name: `${peer.prefix}only` }], allowAutoTopicCreation: false }),
        async () => {
          const answer = await peer.ask(
            "CreateTopics",
            7,
            topic("default", { numPartitions: -1, replicationFactor: -1 }),
          );
          for (const one of answer.topics) delete one.configs;
          return answer;
        },
        async () => {
          const assignments = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, brokerIds: [1] }));
          const answer = await peer.ask(
            "CreateTopics",
            7,
            topic("assigned", { numPartitions: -1, replicationFactor: -1, assignments }),
          );
          for (const one of answer.topics) delete one.configs;
          return answer;
        },
      ]);
      return [...answers, ...more];
    },
  },
  {
    name: "DeleteTopics by name and by id, refused and done",
    async run(peer) {
      const a = await makeTopic(peer, "a");
      const b = await makeTopic(peer, "b");
      const c = await makeTopic(peer, "c");
      return asks(
        peer,
        ["DeleteTopics", 5, { topicNames: [`${peer.prefix}no`], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: null, topicId: newId }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: null, topicId: zero }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: a.name, topicId: a.id }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: a.name }, { name: a.name }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: a.name }, { name: null, topicId: a.id }], timeoutMs: 5000 }],
        ["DeleteTopics", 1, { topicNames: [a.name], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: b.name }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: null, topicId: c.id }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [{ name: b.name }], timeoutMs: 5000 }],
        ["DeleteTopics", 6, { topics: [] }],
      );
    },
  },
  {
    name: "CreatePartitions refused and done",
    async run(peer) {
      const { name } = await makeTopic(peer, "p", 2);
      const to = (count: number, fields = {}) => ({
        topics: [{ name, count, assignments: null, ...fields }],
        timeoutMs: 5000,
      });
      const answers = await asks(
        peer,
        ["CreatePartitions", 3, to(2)],
        ["CreatePartitions", 3, to(1)],
        ["CreatePartitions", 3, to(0)],
        ["CreatePartitions", 3, to(-1)],
        ["CreatePartitions", 3, to(4, { name: `${peer.prefix}no` })],
        ["CreatePartitions", 3, to(4, { assignments: [{ brokerIds: [1] }] })],
        ["CreatePartitions", 3, to(3, { assignments: [{ brokerIds: [9] }] })],
        ["CreatePartitions", 3, to(3, { assignments: [] })],
        [
          "CreatePartitions",
          3,
          {
            topics: [
              { name, count: 3, assignments: null },
              { name, count: 4, assignments: null },
            ],
            timeoutMs: 5000,
          },
        ],
        ["CreatePartitions", 1, { ...to(3), validateOnly: true }],
        ["CreatePartitions", 0, to(3)],
        ["CreatePartitions", 3, to(4, { assignments: [{ brokerIds: [1] }] })],
      );
      await ready();
      return [...answers, await peer.ask("Metadata", 12, { topics: [{ name }] })];
    },
  },
  {
    name: "DescribeConfigs and ListConfigResources",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 1, [["retention.ms", "5"]]);
      const of = (resourceType: number, resourceName: string, configurationKeys: string[] | null = null) => ({
        resources: [{ resourceType, resourceName, configurationKeys }],
      });
      return asks(
        peer,
        ["DescribeConfigs", 1, of(2, name, ["retention.ms", "no"])],
        ["DescribeConfigs", 4, { ...of(2, name, ["retention.ms", "cleanup.policy"]), includeSynonyms: true }],
        ["DescribeConfigs", 4, of(2, `${peer.prefix}no`)],
        ["DescribeConfigs", 4, of(2, "a b")],
        ["DescribeConfigs", 4, of(4, "7")],
        ["DescribeConfigs", 4, of(4, "x")],
        ["DescribeConfigs", 4, of(4, "1", ["compression.type"])],
        ["DescribeConfigs", 4, of(99, "x")],
        ["DescribeConfigs", 4, { resources: [] }],
      );
    },
    differs: {
      6: "No broker config can be changed at run time",
    },
  },
  {
    name: "AlterConfigs and IncrementalAlterConfigs refused and done",
    async run(peer) {
      const { name } = await makeTopic(peer, "t");
      const set = (resourceName: string, configs: [string, string | null][], resourceType = 2) => ({
        resources: [{ resourceType, resourceName, configs: configs.map(([key, value]) => ({ name: key, value })) }],
      });
      const change = (resourceName: string, configs: [string, number, string | null][], resourceType = 2) => ({
        resources: [
          {
            resourceType,
            resourceName,
            configs: configs.map(([key, configOperation, value]) => ({ name: key, configOperation, value })),
          },
        ],
      });
      return asks(
        peer,
        ["AlterConfigs", 2, set(`${peer.prefix}no`, [["retention.ms", "1"]])],
        ["AlterConfigs", 2, set(name, [["retention.ms", "x"]])],
        ["AlterConfigs", 0, set(name, [["retention.ms", "7"]])],
        ["AlterConfigs", 2, { ...set(name, []), validateOnly: true }],
        [
          "DescribeConfigs",
          4,
          { resources: [{ resourceType: 2, resourceName: name, configurationKeys: ["retention.ms"] }] },
        ],
        ["IncrementalAlterConfigs", 1, change(`${peer.prefix}no`, [["retention.ms", 0, "1"]])],
        [
          "IncrementalAlterConfigs",
          1,
          change(name, [
            ["retention.ms", 0, "1"],
            ["retention.ms", 0, "2"],
          ]),
        ],
        ["IncrementalAlterConfigs", 1, change(name, [["retention.ms", 0, null]])],
        ["IncrementalAlterConfigs", 0, change(name, [["segment.ms", 0, "1000"]])],
        ["IncrementalAlterConfigs", 1, { resources: [...change(name, []).resources, ...change(name, []).resources] }],
        ["IncrementalAlterConfigs", 1, change("7", [["message.max.bytes", 0, "1"]], 4)],
        ["IncrementalAlterConfigs", 1, change("1", [["num.partitions", 0, "3"]], 4)],
        ["IncrementalAlterConfigs", 1, change("x", [["a", 0, "3"]], 99)],
        [
          "DescribeConfigs",
          4,
          { resources: [{ resourceType: 2, resourceName: name, configurationKeys: ["retention.ms", "segment.ms"] }] },
        ],
      );
    },
  },
  {
    name: "DescribeTopicPartitions",
    async run(peer) {
      const a = await makeTopic(peer, "a", 3);
      const b = await makeTopic(peer, "b", 2);
      const both = [{ name: a.name }, { name: b.name }];
      return asks(
        peer,
        ["DescribeTopicPartitions", 0, { topics: both }],
        ["DescribeTopicPartitions", 0, { topics: both, responsePartitionLimit: 2 }],
        [
          "DescribeTopicPartitions",
          0,
          { topics: both, responsePartitionLimit: 2, cursor: { topicName: a.name, partitionIndex: 2 } },
        ],
        ["DescribeTopicPartitions", 0, { topics: both, cursor: { topicName: b.name, partitionIndex: 1 } }],
        ["DescribeTopicPartitions", 0, { topics: both, cursor: { topicName: a.name, partitionIndex: -1 } }],
        ["DescribeTopicPartitions", 0, { topics: [{ name: `${peer.prefix}no` }] }],
        ["DescribeTopicPartitions", 0, { topics: [{ name: " a" }] }],
      );
    },
  },
  {
    name: "DescribeCluster",
    run: (peer) =>
      asks(
        peer,
        ["DescribeCluster", 0, {}],
        ["DescribeCluster", 0, { includeClusterAuthorizedOperations: true }],
        ["DescribeCluster", 1, { endpointType: 1 }],
        ["DescribeCluster", 1, { endpointType: 3 }],
        ["DescribeCluster", 2, { endpointType: 1, includeFencedBrokers: true }],
      ),
  },
];
