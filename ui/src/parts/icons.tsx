// Small drawings, so that none depends on the fonts of the machine. All are decoration: the words are beside them.

const PATHS = {
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  close: "m4 4 8 8M12 4l-8 8",
  check: "m3 8.5 3.2 3L13 4.5",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  jump: "M6 3H3v10h10v-3M9 3h4v4M13 3 7 9",
  download: "M8 2v8m0 0L4.5 6.8M8 10l3.5-3.2M3 13.5h10",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  warn: "M8 2.2 14.5 13.5h-13L8 2.2Zm0 4.3v3.2m0 1.7v.4",
  info: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM8 7.2v4M8 4.7v.4",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.2v1.6m0 10.4v1.6M1.2 8h1.6m10.4 0h1.6M3.2 3.2l1.1 1.1m7.4 7.4 1.1 1.1m0-9.6-1.1 1.1m-7.4 7.4-1.1 1.1",
  moon: "M13.2 9.6A5.8 5.8 0 0 1 6.4 2.8a5.8 5.8 0 1 0 6.8 6.8Z",
  help: "M5.6 5.8a2.4 2.4 0 1 1 3.5 2.1c-.8.4-1.1.9-1.1 1.7m0 2.3v.4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
