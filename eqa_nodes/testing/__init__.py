"""Stand-ins that tests, benchmarks and drills share, yours too. None of them imports pytest.

- `model_server`: an HTTP server that plays scripted replies, faults and delays of a model endpoint.
- `talkative`: a scripted backend that has something to say to every prompt of this package.
- `nav2`, `scripted_nav2`: Nav2's actions, states and costmaps; the first one drives, the other does as a script says.
- `robot`: a camera robot as a process of its own, `python -m eqa_nodes.testing.robot`.
- `driving`: a commander and a robot without ROS, for what drives with goals.
- `waiting`: conditions with one deadline, instead of sleeping.
"""
