// SPDX-License-Identifier: Apache-2.0
// Keeps what is marked with data-live as the server has it, and appends to logs as they grow.
"use strict";

const PAUSE = 1500;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function follow(element) {
  let tag = "";
  let failures = 0;
  let slowness = 1;
  while (element.isConnected && element.dataset.live) {
    await pause(document.hidden ? 4 * PAUSE : PAUSE * slowness * Math.min(8, failures + 1));
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(element.dataset.live, { headers, credentials: "same-origin" });
      failures = answer.ok || answer.status === 304 ? 0 : failures + 1;
      if (answer.status === 403 || answer.status === 404) return;
      slowness = answer.headers.get("X-Live") === "slow" ? 3 : 1;
      if (!answer.ok) continue;
      tag = answer.headers.get("ETag") || "";
      put(element, await answer.text());
      await refreshDetails(element, answer.headers.get("X-Version"));
      if (answer.headers.get("X-Live") === "no") return;
    } catch (error) {
      failures += 1; // the server has ended, or is just restarting
    }
  }
}

// A step that has begun or ended has parameters and a log, or a log that is whole.
async function refreshDetails(live, version) {
  const details = document.querySelector("[data-details]");
  if (!details || !version || version === live.dataset.version) return;
  const answer = await fetch(details.dataset.details);
  if (!answer.ok) return;
  live.dataset.version = version;
  put(details, await answer.text());
  for (const log of details.querySelectorAll("[data-log]")) startLog(log);
}

function startLog(log) {
  log.scrollTop = log.scrollHeight;
  followLog(log);
}

function put(element, html) {
  const chosen = new Set(Array.from(element.querySelectorAll("input:checked"), (one) => one.value));
  const open = new Set(Array.from(element.querySelectorAll("details[open][id]"), (one) => one.id));
  const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
  const places = new Map(
    Array.from(element.querySelectorAll("[data-keep]"), (one) => [one.dataset.keep, one.scrollLeft]));
  element.innerHTML = html;
  for (const one of element.querySelectorAll("input[type=checkbox]")) one.checked = chosen.has(one.value);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const one of element.querySelectorAll("[data-keep]")) one.scrollLeft = places.get(one.dataset.keep) || 0;
  if (focused) document.getElementById(focused)?.focus();
}

async function followLog(log) {
  while (log.isConnected) {
    await pause(document.hidden ? 4 * PAUSE : PAUSE);
    if (!log.closest("details")?.open) continue;
    try {
      const answer = await fetch(`${log.dataset.log}&offset=${log.dataset.offset}`);
      if (!answer.ok) continue;
      const text = await answer.text();
      const wasAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      if (text) log.append(text);
      if (text && wasAtEnd) log.scrollTop = log.scrollHeight;
      log.dataset.offset = answer.headers.get("X-Next-Offset") || log.dataset.offset;
      if (answer.headers.get("X-Live") === "no") return;
    } catch (error) {
      // as above
    }
  }
}

for (const element of document.querySelectorAll("[data-live]")) follow(element);
for (const log of document.querySelectorAll("[data-log]")) startLog(log);
for (const box of document.querySelectorAll(".picture .box.here")) {
  const picture = box.closest(".picture");
  picture.scrollLeft += box.getBoundingClientRect().left - picture.clientWidth / 2;
}
for (const element of document.querySelectorAll("[data-submit]"))
  element.addEventListener("change", () => element.form.requestSubmit());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  const search = document.querySelector("input[type=search]");
  if (search) { event.preventDefault(); search.focus(); }
});
