/*
 * A list for members that are added and removed with requests. Own code: V8 links each table of a `Map` or `Set` to the table that replaces
 * it. Once a table is in the old generation, all later tables are reachable from it until the next full collection, together with their
 * former members. A `Set` of open requests would therefore move every request into the old generation, and garbage collection would take
 * twenty times as long.
 */

/** A member of a list with its neighbours. */
export interface Link<Member> {
  readonly member: Member;
  readonly rank: number;
  /** Null outside the list, because a removed link must not keep others in memory. */
  previous: Link<Member> | null;
  next: Link<Member> | null;
}

/** A doubly linked list that is sorted by rank. A member is added after the members of equal rank. */
export class LinkedList<Member> {
  /** Only the list changes it. */
  first: Link<Member> | null = null;
  #last: Link<Member> | null = null;
  size = 0;

  has(link: Link<Member>): boolean {
    return link.previous !== null || this.first === link;
  }

  add(member: Member, rank = 0): Link<Member> {
    let next: Link<Member> | null = null;
    let previous = this.#last;
    while (previous && previous.rank > rank) {
      next = previous;
      ({ previous } = previous);
    }
    const link: Link<Member> = { member, rank, previous, next };
    if (previous) previous.next = link;
    else this.first = link;
    if (next) next.previous = link;
    else this.#last = link;
    this.size++;
    return link;
  }

  /** Removes a link. Does nothing the second time. */
  remove(link: Link<Member>): void {
    const { previous, next } = link;
    if (previous) previous.next = next;
    else if (this.first === link) this.first = next;
    else return;
    if (next) next.previous = previous;
    else this.#last = previous;
    link.previous = null;
    link.next = null;
    this.size--;
  }

  takeFirst(): Member | undefined {
    const { first } = this;
    if (first) this.remove(first);
    return first?.member;
  }

  /** A copy of the members, in their order. */
  members(): Member[] {
    const members: Member[] = [];
    for (let link = this.first; link; link = link.next) members.push(link.member);
    return members;
  }
}
