// Times in words.

import type { Words } from "./words";

/** A length of time, no finer than it is known. */
export function length(words: Words, seconds: number): string {
  if (seconds < 120) return words.seconds(Math.max(0, Math.round(seconds)));
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? words.minutes(minutes) : words.hours(Math.floor(minutes / 60), minutes % 60);
}

/** When something was told: minutes and seconds since the run began. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (part: number) => String(part).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
