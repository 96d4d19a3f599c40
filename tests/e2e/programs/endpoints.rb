# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Frameworks of real gems, each driven in this process as their servers drive them. Each kind of
# work has a method of its own, so that the test knows for which endpoint a sample was.
require_relative "common"
require "action_controller"
require "active_job"
require "sidekiq"
require "sidekiq/testing"
require "sidekiq/processor"
require "sinatra/base"
require "rack/mock"
require "logger"

# Defines a method of that name that uses some CPU, then some time.
def work(name)
  Object.class_eval("def work_#{name} = (burn(0.015); sleep(0.004))", __FILE__, __LINE__)
end

%w[show update mixed prepended inherited overridden nested bare job job_inherited job_child job_wrapped job_now processor
   route form pattern outside].each { |name| work(name) }

class ApplicationController < ActionController::Base
  def inherited = (work_inherited; head :ok)
  def overridden = work_overridden
end

module Mixed
  def mixed = (work_mixed; head :ok)
end

module Prepended
  def prepended = super
end

class UsersController < ApplicationController
  include Mixed
  prepend Prepended
  before_action { params[:id] }

  def show = render(plain: work_show)
  def prepended = (work_prepended; head :ok)
  define_method(:update) { work_update && head(:ok) }
  def overridden = (super; head :ok)

  def nested
    HardJob.new.perform_nested
    NowJob.perform_now(true)
    head :ok
  end
end

class ApiController < ActionController::API
  def show = render(json: { id: work_bare })
end

class NowJob < ActiveJob::Base
  def perform(nested = false) = nested ? work_nested : work_job_now
end

class WrappedJob < ActiveJob::Base
  before_perform { executions }
  def perform(_id) = work_job_wrapped
end

class HardJob
  include Sidekiq::Job
  def perform(_id) = work_job
  def perform_nested = work_nested
end

class ParentJob
  include Sidekiq::Job
  def perform = instance_of?(ParentJob) ? work_job_inherited : work_job_child
end

class ChildJob < ParentJob
end

module Deep
  class ProcessorJob
    include Sidekiq::Job
    def perform(*) = work_processor
  end
end

class App < Sinatra::Base
  set :environment, :production
  set :host_authorization, { permitted_hosts: [] }
  get("/users/:id") { work_route.to_s }
  post("/form") { work_form.to_s }
  get(%r{/items/(\d+)}) { |_id| work_pattern.to_s }
end

ActiveJob::Base.logger = Sidekiq.default_configuration.logger = Logger.new(File::NULL)
ActiveJob::Base.queue_adapter = :inline
Sidekiq::Testing.inline!

# The frame in which Sidekiq's own server calls a job, without what fetches them.
PROCESSOR = Sidekiq::Processor.allocate

# As Sidekiq's server runs jobs of ActiveJob: in a wrapper that is a job itself.
WRAPPER = ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper

def request(app, verb, path) = app.call(Rack::MockRequest.env_for(path, method: verb))

USERS = %i[show update mixed prepended inherited overridden nested].to_h { |name| [name, UsersController.action(name)] }

TURNS = [
  *USERS.map { |name, action| -> { request(action, "GET", "/users/4711/#{name}?secret=1") } },
  -> { request(ApiController.action(:show), "GET", "/api/4711") },
  -> { HardJob.perform_async(4711) },
  -> { ParentJob.perform_async },
  -> { ChildJob.perform_async },
  -> { NowJob.perform_later },
  -> { PROCESSOR.send(:execute_job, WRAPPER.new, [WrappedJob.new(4711).serialize]) },
  -> { PROCESSOR.send(:execute_job, Deep::ProcessorJob.new, [4711]) },
  -> { request(App, "GET", "/users/4711") },
  -> { request(App, "POST", "/form") },
  -> { request(App, "GET", "/items/4711") },
  -> { work_outside },
].freeze

TURNS.each(&:call) # what is loaded when it is first used
ready
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Float(ARGV.fetch(0))
TURNS.each(&:call) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
done(object_id: Thread.current.object_id)
