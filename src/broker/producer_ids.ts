/**
 * Producer ids for InitProducerId: handed out from blocks whose end is durable, so that no id is given twice, whatever
 * crashes. A crash loses the rest of a block, as in Apache Kafka (KIP-730).
 */
import type { Catalog } from "../catalog/catalog.ts";

const blockSize = 1_000;

export class ProducerIds {
  private readonly catalog: Catalog;
  private next: number;
  private reserved: number;
  private reserving: Promise<void> | undefined;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.next = Number(catalog.value("node", "producerIdsReserved") ?? 0);
    this.reserved = this.next;
  }

  async allocate(): Promise<bigint> {
    while (this.next >= this.reserved) {
      this.reserving ??= this.reserve().finally(() => {
        this.reserving = undefined;
      });
      await this.reserving;
    }
    return BigInt(this.next++);
  }

  private async reserve(): Promise<void> {
    const end = this.reserved + blockSize;
    await this.catalog.put("node", "producerIdsReserved", end);
    this.reserved = end;
  }
}
