//! `docs/ladder.md`.
