"""Methods that look at weights without training them: evaluate (what a model answers) and probe (what its weights say).

Results of method probe are records of the kind `probe`. Their measures, by probe:

magnitude      norm, relative_norm: ‖δ‖ of a tensor's change δ = tuned − base; norm_by_step; growth_exponent
spectrum       effective_rank, stable_rank, density, unchanged of each tensor's change
cosine         cosine of two runs' changes, for each tensor
overlap        overlap_out, overlap_in: subspaces of the first singular vectors of two runs' changes
audit          shared_noise: cosines of the changes of pairs of tensors of one run
interpolation  reward along a straight line between two models, and its barrier
perturbation   change, change_by_draw of the reward by noise; pass_at_k of it and of samples at a temperature
curvature      curvature of the mean negative log-likelihood of responses, along a run's change
"""
