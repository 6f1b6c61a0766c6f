"""What the privacy funnel and the information bottleneck share."""
