mod archive;
mod export;
mod queues;
mod status;
mod verify;
