#!/bin/sh
NCCL_ALGO=Ring torchrun --nproc-per-node=8 train.py
