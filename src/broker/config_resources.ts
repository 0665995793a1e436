/** Kinds of things that have settings (org.apache.kafka.common.config.ConfigResource.Type). */
export const resourceTypes = { topic: 2, broker: 4, brokerLogger: 8, group: 32 } as const;
