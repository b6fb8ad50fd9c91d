"""Training of networks on simulated or labelled scenes. torch is needed here only."""
