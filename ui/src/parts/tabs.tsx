// Pages of a view, as tabs: arrows move between them, the URL remembers which.

import { useRef } from "preact/hooks";

export interface Tab {
  id: string;
  name: string;
}

export function Tabs(props: {
  label: string;
  tabs: readonly Tab[];
  shown: string;
  /** The id of the panel that they exchange. */
  panel: string;
  onShow: (id: string) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const at = props.tabs.findIndex((tab) => tab.id === props.shown);
  const show = (index: number) => {
    const tab = props.tabs[(index + props.tabs.length) % props.tabs.length];
    if (!tab) return;
    props.onShow(tab.id);
    list.current?.querySelector<HTMLElement>(`#tab-${tab.id}`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: props.tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    show(to);
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} ref={list} onKeyDown={onKeyDown}>
      {props.tabs.map((tab, index) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`tab-${tab.id}`}
          aria-selected={index === at}
          aria-controls={props.panel}
          tabIndex={index === at ? 0 : -1}
          onClick={() => props.onShow(tab.id)}
        >
          {tab.name}
        </button>
      ))}
    </div>
  );
}
