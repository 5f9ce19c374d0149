// Dialogs: the browser's own, so that focus stays inside and Esc closes; focus returns where it was.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { returnFocus } from "../core/router";

export function Modal(props: {
  label: string;
  class?: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      isGone.current = true;
      element?.close();
      returnFocus(opener);
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={props.class ?? ""}
      aria-label={props.label}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClose={() => {
        // A second Esc in a row closes it without asking.
        if (!isGone.current) props.onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) props.onClose();
      }}
    >
      {props.children}
    </dialog>
  );
}
