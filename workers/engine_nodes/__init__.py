"""The nodes of a job that has several: engines of Evolution Strategies run on all of them.

The training process is on the first node. It writes a file into the attempt's directory, and on each other node a
program reads it, connects back and starts engines, whose connections it hands over.

    training process                                other node
    nodes           all of them                     program         starts engines on request
      listener      accepts connections
      remote_node   one node
      launchers     srun, or actors of Ray
    job             what a job's scheduler provides: slurm_job, ray_job (and ray_actors, for Ray's own Python)

    handshake       both sides prove that they know the token
    links           the control messages, and the command of an engine
    processes       the start of an engine's process, here or there
"""
