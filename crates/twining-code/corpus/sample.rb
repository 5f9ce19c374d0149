# frozen_string_literal: true
require 'set'
require_relative "store/key"
=begin
A long comment.
=end
module Store
  LIMIT = 10
  class Key < Base::Other
    include Comparable
    attr_reader :name, :size
    def initialize(name:, size: 3, *rest, **more, &block)
      @name = "a #{name.gsub(/[\/'"]/, '')} b"
      @text = <<~TEXT.strip + 'x'
        don't # not a comment
      TEXT
      %w[a b].each { |x| puts x unless x =~ /a/i }
    end
    def self.read(path) = File.read(path)
    class << self
      def empty? = true
    end
    def <=>(other); name <=> other.name; end
    private def hidden; yield if block_given?; rescue StandardError => e then raise; end
  end
end
