"""The models that the project makes itself: Qwen2-shaped, with their own tokenizer and chat template, pre-trained here.

They are ordinary checkpoint folders. `tiny` takes about a minute and is what the demonstrations train; `micro` takes
seconds, knows the manner of an answer but few facts, and is for tests.
"""
