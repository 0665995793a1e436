/** How often a client's scenario may be tried. */
import type { ClientDefinition } from "./clients.ts";

/**
 * Runs `perform` with a suffix for names that no other try has. kafka-python 3.0.12 can lose the answer of its own join and then reads nothing any more
 * (see drivers/kafka_python.py; on Apache Kafka it does so more often). It gets three tries, and a failed one is named; every other client has one.
 */
export async function tried(
  client: ClientDefinition,
  scenario: string,
  perform: (suffix: string) => Promise<void>,
): Promise<void> {
  const triesMax = client.name === "kafka-python" ? 3 : 1;
  for (let attempt = 1; ; attempt++)
    try {
      await perform(attempt === 1 ? "" : `-${attempt}`);
      return;
    } catch (error) {
      if (attempt === triesMax) throw error;
      console.error(`try ${attempt} failed: ${client.name} ${scenario}: ${(error as Error).message}`);
    }
}
