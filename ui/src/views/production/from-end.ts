// The last of a list that fits: browsers know it, the page's target does not yet.

export function lastIndex<T>(list: readonly T[], fits: (one: T) => boolean): number {
  for (let at = list.length - 1; at >= 0; at--) if (fits(list[at]!)) return at;
  return -1;
}
