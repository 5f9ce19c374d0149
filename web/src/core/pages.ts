// The pages, in the order people read them.

export const PAGES = [
  { href: "/", label: "Now" },
  { href: "/stream", label: "Stream" },
  { href: "/decisions", label: "Decisions" },
  { href: "/features", label: "Features" },
  { href: "/guards", label: "Guards" },
  { href: "/map", label: "Map" },
  { href: "/preview", label: "Preview" },
  { href: "/health", label: "Health" },
  { href: "/changes", label: "Changes" },
];
