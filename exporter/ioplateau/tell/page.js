// Fetches the page's content again and puts it in place of the old, without a reload: what has the
// focus keeps it, what is open stays open, what is scrolled stays where it is.
"use strict";
const EVERY_MS = 5000;
const PATIENCE_MS = 10000;
const main = document.querySelector("main");
const stale = document.getElementById("stale");
let seen = new Date();

function renew(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  if (!fresh) throw new Error("no content");
  const focus = document.activeElement;
  const focused = focus && main.contains(focus) ? place(focus) : null;
  const open = [...main.querySelectorAll("details[open]")].map((each) => each.id);
  const scrolled = [...main.querySelectorAll(".wide")].map((each) => [each.id, each.scrollLeft]);
  // The headline is read aloud when it changes: the element itself has to stay.
  const headline = document.getElementById("headline");
  const said = fresh.querySelector("#headline");
  if (headline.textContent !== said.textContent) headline.textContent = said.textContent;
  headline.className = said.className;
  document.title = fresh.dataset.title;
  said.remove();
  while (headline.nextSibling) headline.nextSibling.remove();
  main.append(...fresh.childNodes);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, left] of scrolled) {
    const each = document.getElementById(id);
    if (each) each.scrollLeft = left;
  }
  if (focused) find(focused)?.focus({ preventScroll: true });
}

// Where an element is: the nearest one with an id, and which of those that take the focus below it.
const TAKES_FOCUS = "a[href], summary, [tabindex]";
function place(element) {
  const near = element.closest("[id]");
  return [near.id, [...near.querySelectorAll(TAKES_FOCUS)].indexOf(element)];
}
function find([id, number]) {
  const near = document.getElementById(id);
  return number < 0 ? near : near?.querySelectorAll(TAKES_FOCUS)[number];
}

async function look() {
  if (document.hidden) return;
  try {
    const answer = await fetch("fragment", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error(answer.status);
    const y = window.scrollY;
    renew(await answer.text());
    if (window.scrollY !== y) window.scrollTo(0, y);
    seen = new Date();
    stale.textContent = "";
  } catch {
    stale.textContent = `No answer since ${seen.toLocaleTimeString()}: what you see is old.`;
  }
}

async function watch() {
  await look();
  setTimeout(watch, EVERY_MS);
}
document.addEventListener("visibilitychange", look);
setTimeout(watch, EVERY_MS);
