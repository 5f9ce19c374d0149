mod claims;
mod handoffs;
mod registry;
